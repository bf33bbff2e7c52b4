package ollamatest

// AppendLine writes one event: its data, without line breaks, as a line. Events of this format have no names.
func AppendLine(dst []byte, _ string, data []byte) []byte {
	return append(append(dst, data...), '\n')
}
