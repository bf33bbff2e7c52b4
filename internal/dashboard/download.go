package dashboard

import (
	"mime"
	"net/http"
	"time"
)

// writeLimit bounds the time in which a client accepts a piece of a download.
const writeLimit = 30 * time.Second

// download sends a file of unknown length. Until its first byte is written, an error page may be sent instead.
type download struct {
	w           http.ResponseWriter
	name        string // of the file
	contentType string
	begun       bool
}

// Write sends a piece. It fails if the client does not accept it in time.
func (d *download) Write(p []byte) (int, error) {
	if !d.begun {
		d.begun = true
		guard(d.w.Header())
		d.w.Header().Set("Content-Type", d.contentType)
		d.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment",
			map[string]string{"filename": d.name}))
	}
	// A writer without write deadlines needs none.
	_ = http.NewResponseController(d.w).SetWriteDeadline(time.Now().Add(writeLimit))
	return d.w.Write(p)
}

// end removes the deadline, so that the connection can serve the next request.
func (d *download) end() {
	_ = http.NewResponseController(d.w).SetWriteDeadline(time.Time{})
}
