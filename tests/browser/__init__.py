"""Tests in a browser, which is closed after the last of them: Playwright leaves an event loop running."""
