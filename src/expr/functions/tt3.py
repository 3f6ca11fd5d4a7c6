import os; os.environ["TF_CPP_MIN_LOG_LEVEL"]="3"
import tensorflow as tf
print(tf.math.count_nonzero(tf.ones([5000]),dtype=tf.float16).numpy(),tf.math.count_nonzero(tf.ones([300]),dtype=tf.int8).numpy(),tf.math.count_nonzero(tf.ones([300]),dtype=tf.bool).numpy())
