"""Photo-realistic images by Mitsuba."""
