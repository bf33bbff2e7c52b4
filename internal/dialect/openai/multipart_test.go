package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/dialect/openai"
	"weir/internal/llm"
)

// oddForm builds a form for a recording, with these parts before its file.
func oddForm(parts ...string) []byte {
	parts = append(parts, "Content-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx")
	return []byte("--b\r\n" + strings.Join(parts, "\r\n--b\r\n") + "\r\n--b--\r\n")
}

func formRequest(contentType string) *http.Request {
	return &http.Request{Header: http.Header{"Content-Type": {contentType}}}
}

const (
	plainModel = "Content-Disposition: form-data; name=\"model\"\r\n\r\nsmall"
	head       = "Content-Disposition: form-data; name="
)

// TestAmbiguousFormsAreRefused refuses forms in which another parser may read another model, another number or another
// recording.
func TestAmbiguousFormsAreRefused(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{
		"a model as a file":           oddForm(head+"\"model\"; filename=\"a\"\r\n\r\nlarge", plainModel),
		"two names":                   oddForm(head+"\"model\"; name=\"model\"\r\n\r\nlarge", plainModel),
		"a name that is encoded":      oddForm("Content-Disposition: form-data; name*=UTF-8''model\r\n\r\nlarge", plainModel),
		"a name in pieces":            oddForm("Content-Disposition: form-data; name*0=mod; name*1=el\r\n\r\nlarge", plainModel),
		"a name with escapes":         oddForm(head+"\"mo\\del\"\r\n\r\nlarge", plainModel),
		"a name with percents":        oddForm(head+"\"%6dodel\"\r\n\r\nlarge", plainModel),
		"a name with space":           oddForm(head+"\" model\"\r\n\r\nlarge", plainModel),
		"a list of models":            oddForm(head+"\"model[]\"\r\n\r\nlarge", plainModel),
		"a parameter in capitals":     oddForm("Content-Disposition: form-data; NAME=\"model\"\r\n\r\nlarge", plainModel),
		"no name":                     oddForm("Content-Disposition: form-data\r\n\r\nlarge", plainModel),
		"no disposition":              oddForm("Content-Type: text/plain\r\n\r\nlarge", plainModel),
		"two dispositions":            oddForm(head+"\"model\"\r\n"+head+"\"x\"\r\n\r\nlarge", plainModel),
		"another disposition":         oddForm("Content-Disposition: attachment; name=\"model\"\r\n\r\nlarge", plainModel),
		"a folded line":               oddForm("Content-Disposition: form-data;\r\n name=\"model\"\r\n\r\nlarge", plainModel),
		"a line that ends otherwise":  oddForm("X: y\n"+head+"\"model\"\r\n\r\nlarge", plainModel),
		"space before the colon":      oddForm("Content-Disposition : form-data; name=\"model\"\r\n\r\nlarge", plainModel),
		"a name within a file's":      oddForm(head+"\"x\"; filename=\"\\\"; name=\\\"model\"\r\n\r\nlarge", plainModel),
		"an encoding":                 oddForm("Content-Transfer-Encoding: base64\r\n"+head+"\"model\"\r\n\r\nbGFyZ2U=", plainModel),
		"a long head":                 oddForm("X: "+strings.Repeat("y", 20_000)+"\r\n"+head+"\"x\"\r\n\r\ny", plainModel),
		"a boundary behind LF":        oddForm(head+"\"x\"\r\n\r\ny\n--b\n"+head+"\"model\"\n\nlarge\n", plainModel),
		"a longer boundary":           oddForm(head+"\"x\"\r\n\r\ny\r\n--bb\r\n", plainModel),
		"a boundary and space":        []byte(strings.Replace(string(oddForm(plainModel)), "--b\r\n", "--b \r\n", 1)),
		"something before":            append([]byte("hello\r\n"), oddForm(plainModel)...),
		"something behind":            append(oddForm(plainModel), oddForm("Content-Disposition: form-data; name=\"model\"\r\n\r\nlarge")...),
		"two recordings":              oddForm(plainModel, head+"\"file\"; filename=\"a\"\r\n\r\nxxxxxxxx"),
		"a recording in another case": oddForm(plainModel, head+"\"File\"; filename=\"a\"\r\n\r\nxxxxxxxx"),
		"a recording that is no file": oddForm(plainModel, head+"\"file\"\r\n\r\nxxxxxxxx"),
		"a stream in capitals":        oddForm(plainModel, head+"\"stream\"\r\n\r\nTrue"),
		"a stream as a number":        oddForm(plainModel, head+"\"stream\"\r\n\r\n1"),
	} {
		if h, err := openai.ScanTranscription(body, formRequest("multipart/form-data; boundary=b")); err == nil {
			t.Errorf("%s: got model %q and no error from %q", name, h.Model, body)
		}
	}
	for _, contentType := range []string{
		"multipart/form-data; boundary=\"b \"", "multipart/form-data; boundary=\"b\\\"\"", "multipart/form-data; boundary=\"\xc3\xa4\"", "multipart/form-data; boundary=" + strings.Repeat("b", 71),
	} {
		if _, err := openai.ScanTranscription(oddForm(plainModel), formRequest(contentType)); err == nil {
			t.Errorf("%s: no error", contentType)
		}
	}
}

// TestFormsOfClients accepts the forms that clients write.
func TestFormsOfClients(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"quoted":      string(oddForm(plainModel, head+"\"stream\"\r\n\r\ntrue", head+"\"timestamp_granularities[]\"\r\n\r\nword", head+"\"timestamp_granularities[]\"\r\n\r\nsegment")),
		"no end line": strings.TrimSuffix(string(oddForm(plainModel, head+"\"stream\"\r\n\r\ntrue")), "\r\n"),
		".NET": "--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=model\r\n\r\nsmall\r\n--b\r\n" +
			"Content-Disposition: form-data; name=stream\r\n\r\ntrue\r\n--b\r\n" +
			"Content-Disposition: form-data; name=file; filename=a.wav; filename*=utf-8''a.wav\r\n\r\nx\r\n--b--\r\n",
		"Java": "--b\r\nContent-Disposition: form-data; name=\"model\"\r\nContent-Transfer-Encoding: binary\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\r\nsmall\r\n--b\r\n" +
			"content-disposition: form-data;name=\"stream\"\r\nContent-Transfer-Encoding: 8bit\r\n\r\ntrue\r\n--b\r\n" +
			"Content-Disposition: form-data; filename=\"ä b;c=d.wav\"; name=\"file\"\r\nContent-Type: audio/wav\r\n\r\nx\r\n--b--\r\n",
	} {
		h, err := openai.ScanTranscription([]byte(body), formRequest("multipart/form-data; charset=utf-8; boundary=\"b\""))
		if err != nil || h.Model != "small" || !h.Stream || h.Units[llm.Milliseconds] != 1 {
			t.Errorf("%s: got %+v, %v", name, h, err)
		}
	}
}
