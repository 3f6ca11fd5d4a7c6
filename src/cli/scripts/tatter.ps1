# PowerShell completion for tatter: asks the program for the possible completions.

Register-ArgumentCompleter -Native -CommandName tatter -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $elements = @($commandAst.CommandElements | Select-Object -Skip 1)
    $before = @($elements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text.Trim("'", '"') })
    $after = @($elements | Where-Object { $_.Extent.StartOffset -gt $cursorPosition } | ForEach-Object { $_.Extent.Text.Trim("'", '"') })
    $current = if ($wordToComplete) { $wordToComplete } else { '' }
    $lines = @(& tatter __complete powershell $before.Count @before "$current" @after 2>$null)
    # If nothing is returned, PowerShell completes file names.
    $lines | Select-Object -Skip 1 | ForEach-Object {
        $word, $about = $_ -split "`t", 2
        $text = if ($word -match '^[\w./=:%+-]+$') { $word } else { "'" + $word.Replace("'", "''") + "'" }
        if (-not $about) { $about = $word }
        [System.Management.Automation.CompletionResult]::new($text, $word, 'ParameterValue', $about)
    }
}
