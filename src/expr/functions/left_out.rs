//! TensorFlow operations on ragged tensors, and operations for training, that have no function here, with reasons.

/// Names and reasons.
pub const LEFT_OUT: &[(&[&str], &str)] = &[
    (
        &[
            "debugging.assert_equal",
            "debugging.assert_greater",
            "debugging.assert_greater_equal",
            "debugging.assert_less",
            "debugging.assert_less_equal",
            "debugging.assert_near",
            "debugging.assert_none_equal",
        ],
        "assertions do not return tensors; use the verb assert to check records",
    ),
    (&["dtypes.complex", "complex"], "complex numbers are not supported"),
    (
        &[
            "image.adjust_brightness",
            "image.adjust_gamma",
            "image.convert_image_dtype",
            "image.random_brightness",
            "image.resize",
            "image.stateless_random_brightness",
        ],
        "images are read as bytes; tatter does not decode them",
    ),
    (&["print"], "print does not return a tensor; use the verb show to print tensors"),
    (&["GradientTape", "gradients", "stop_gradient", "custom_gradient"], "tatter does not train models"),
    (&["function", "Variable", "placeholder", "Session"], "tatter has no graphs or sessions"),
];

/// The reason why a TensorFlow function is left out.
pub fn reason(name: &str) -> Option<&'static str> {
    let short = name.strip_prefix("tf.").unwrap_or(name);
    let short = short.strip_prefix("compat.v1.").unwrap_or(short);
    LEFT_OUT.iter().find(|(names, _)| names.contains(&short)).map(|(_, why)| *why)
}
