# A folder whose name begins like an allowed one is not that folder.
