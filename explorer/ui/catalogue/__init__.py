"""Every text of the page, a module a language and subject."""
