package quote

import "bytes"

// walks caches results of reading the whole body, which are equal for all targets.
type walks struct {
	gained   int64 // bytes that normalization may add
	measured bool  // gained is set

	searched bool // found is set
	found    words
}

// words says which words a body may contain. A word elsewhere in the body may give a false positive; there are no
// false negatives.
type words struct {
	escaped bool // a letter of a name or value is written as \uXXXX
	// closer says that a request may choose the resolution of images and pages: Google's mediaResolution, in any
	// client API.
	closer bool
	// cited says that it may request citations, for which documents are cut into sentences, each with a mark
	// (https://platform.claude.com/docs/en/build-with-claude/citations, undated copy).
	cited bool
}

// lengthened returns an upper bound of the bytes that normalization adds to the body.
func (r *Request) lengthened() int64 {
	if !r.walks.measured {
		r.walks.gained, r.walks.measured = lengthened(r.Body), true
	}
	return r.walks.gained
}

// words returns the words that the body may contain.
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
