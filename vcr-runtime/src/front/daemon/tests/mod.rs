mod scenes;
