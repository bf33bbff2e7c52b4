package compose

// Detail returns the detail of an image in the words that OpenAI's chats have, and names one that only its other API has.
func (w *Writer) Detail(detail string) string {
	switch detail {
	case "", "auto", "low", "high":
		return detail
	}
	w.Drop("detail")
	return ""
}
