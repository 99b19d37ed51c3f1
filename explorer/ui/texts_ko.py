from explorer.ui import texts

VIEW = texts.VIEW
