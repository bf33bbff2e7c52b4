package compose

// Detail returns the detail of an image in the values of OpenAI's chats, and drops a value that only its other API
// has.
func (u *Unsent) Detail(detail string) string {
	switch detail {
	case "", "auto", "low", "high":
		return detail
	}
	u.Drop("detail")
	return ""
}
