"""Linear layers by integer products: weights in 8 bits a row, inputs rounded to 8 bits a position as they come."""
