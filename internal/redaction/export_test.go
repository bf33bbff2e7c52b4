package redaction

// Text returns a text with marks in place of secrets, and how many marks it added.
func (r *Redactor) Text(s string) (string, int) {
	r.begin(len(s))
	return r.text("", s), r.n
}
