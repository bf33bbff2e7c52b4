package simulator

// Vocabulary is every word of the grammar as the documentation writes it.
func Vocabulary() []string {
	var words []string
	for _, name := range append(baseNames(), optionNames()...) {
		words = append(words, "`"+name)
	}
	for _, name := range faultNames() {
		words = append(words, "fault="+name+"`")
	}
	for _, name := range usageVariants {
		words = append(words, "usage="+name+"`")
	}
	return words
}
