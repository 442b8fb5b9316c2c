"""What a pull request shows and what its merge changes: changed stages and the preview comment."""
