package disk

import "os"

// Exists reports whether a file or a directory has that path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
