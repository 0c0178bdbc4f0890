"""TensorFlow: an index beyond the embedding. The CPU raises; a GPU returns zeros and says nothing."""

import tensorflow as tf

table = tf.random.normal((10, 4))
print(tf.gather(table, [1, 2, 10]))
