package simulator

// Vocabulary returns every word of the grammar in the documentation's form.
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
