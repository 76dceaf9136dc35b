"""What all that load weights share: checkpoints, tokenizers, devices, batches that fit, errors of the hub."""
