"""The block-diffusion engine: tokens, slots, models. It knows nothing of questions."""
