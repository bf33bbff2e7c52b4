package h1

// EqualFold reports whether two texts are the same but for the case of letters, in ASCII alone: there are
// letters outside it, such as the Kelvin sign, that Unicode takes for others of another case.
func EqualFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
