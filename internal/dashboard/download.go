package dashboard

import (
	"mime"
	"net/http"
	"time"
)

// writeLimit is how long a client may take for each piece of a download.
const writeLimit = 30 * time.Second

// download sends a file whose length nobody knows yet. Until its first byte is
// written, a page may be sent in its place.
type download struct {
	w           http.ResponseWriter
	name        string // of the file
	contentType string
	begun       bool
}

// Write sends a piece. It is an error when the client does not take it in time.
func (d *download) Write(p []byte) (int, error) {
	if !d.begun {
		d.begun = true
		guard(d.w.Header())
		d.w.Header().Set("Content-Type", d.contentType)
		d.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment",
			map[string]string{"filename": d.name}))
	}
	// where there is none, the connection has no deadline
	_ = http.NewResponseController(d.w).SetWriteDeadline(time.Now().Add(writeLimit))
	return d.w.Write(p)
}

// end lets the connection serve what comes next.
func (d *download) end() {
	_ = http.NewResponseController(d.w).SetWriteDeadline(time.Time{})
}
