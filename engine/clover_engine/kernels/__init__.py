"""Operations with a torch reference that specifies them; accelerated versions stand beside it."""
