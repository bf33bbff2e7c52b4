package quote

import "bytes"

// walks keep what was found by going over the whole body, which is the same for every target.
type walks struct {
	gained   int64 // bytes that normalization may add
	measured bool  // gained is known

	searched bool // words is known
	found    words
}

// words are those that a body may have. It may be said to have one that stands elsewhere in it, never the other way
// round.
type words struct {
	escaped bool // a letter of some name or value is written as \uXXXX
	// closer says that a request may choose at which resolution images and pages are read: Google's mediaResolution, at
	// whichever client API.
	closer bool
	// cited says that it may ask for citations, for which documents are cut into sentences, each with a mark
	// (https://platform.claude.com/docs/en/build-with-claude/citations, undated copy).
	cited bool
}

// lengthened is how many bytes the body gains at most when its texts are normalized.
func (r *Request) lengthened() int64 {
	if !r.walks.measured {
		r.walks.gained, r.walks.measured = lengthened(r.Body), true
	}
	return r.walks.gained
}

// words finds which words the body may have.
func (r *Request) words() words {
	if !r.walks.searched {
		escaped := hasEscapedWord(r.Body)
		r.walks.found = words{
			escaped: escaped,
			closer:  escaped || bytes.Contains(r.Body, []byte("esolution")),
			cited:   escaped || bytes.Contains(r.Body, []byte("citations")),
		}
		r.walks.searched = true
	}
	return r.walks.found
}
