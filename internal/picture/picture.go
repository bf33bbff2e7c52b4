// Package picture reads the size of an image, in pixels, from its first bytes, and returns the maximum number of tokens
// that a model counts for it.
package picture

import (
	"bytes"
	"encoding/binary"
)

// headSize is the number of bytes that suffices for nearly all images; a JPEG may have a profile and a preview before
// its size.
const headSize = 256 << 10

// Size is the width and height of an image.
type Size struct{ Width, Height int64 }

// Read reads the size of a PNG, JPEG, GIF or WebP. If an image has several sizes, it returns the largest, because
// decoders differ. It returns false for other formats, and if the bytes do not include the size.
func Read(head []byte) (Size, bool) {
	var s Size
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		s = readPNG(head)
	case bytes.HasPrefix(head, []byte("\xff\xd8")):
		s = readJPEG(head)
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		s = readGIF(head)
	case bytes.HasPrefix(head, []byte("RIFF")) && len(head) >= 12 && string(head[8:12]) == "WEBP":
		s = readWebP(head[12:])
	}
	s.Width, s.Height = min(s.Width, mostSide), min(s.Height, mostSide)
	return s, s.Width > 0 && s.Height > 0
}

// mostSide exceeds the side of any image that providers accept.
const mostSide = 1 << 20

// raise enlarges the size to at least the given one.
func (s *Size) raise(width, height int64) {
	s.Width, s.Height = max(s.Width, width), max(s.Height, height)
}

// readPNG reads the first chunk (https://www.w3.org/TR/png-3/#11IHDR).
func readPNG(b []byte) (s Size) {
	if len(b) >= 24 && string(b[12:16]) == "IHDR" {
		s.raise(int64(binary.BigEndian.Uint32(b[16:])), int64(binary.BigEndian.Uint32(b[20:])))
	}
	return s
}

// readJPEG reads the frame headers before the first scan (ITU T.81, annex B). If the number of lines follows later, the
// size is 0.
func readJPEG(b []byte) (s Size) {
	const startOfScan = 0xda
	for b = b[2:]; len(b) >= 4; {
		marker := b[1]
		switch {
		case b[0] != 0xff:
			return Size{} // decoders differ in how they search for the next marker
		case marker == 0xff: // fill byte
			b = b[1:]
			continue
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd7: // without a length
			b = b[2:]
			continue
		case marker == startOfScan:
			return s
		}
		n := 2 + int(binary.BigEndian.Uint16(b[2:]))
		if isFrame(marker) && len(b) >= 9 {
			s.raise(int64(binary.BigEndian.Uint16(b[7:])), int64(binary.BigEndian.Uint16(b[5:])))
		}
		if n > len(b) {
			return Size{}
		}
		b = b[n:]
	}
	return Size{}
}

// isFrame reports whether a marker begins a frame header: SOF0 to SOF15, and DHP of hierarchical images.
func isFrame(marker byte) bool {
	switch marker {
	case 0xc4, 0xc8, 0xcc: // tables, reserved, arithmetic coding
		return false
	}
	return marker >= 0xc0 && marker <= 0xcf || marker == 0xde
}

// readGIF reads the screen and its first image (https://www.w3.org/Graphics/GIF/spec-gif89a.txt).
func readGIF(b []byte) (s Size) {
	if len(b) < 13 {
		return s
	}
	s.raise(int64(binary.LittleEndian.Uint16(b[6:])), int64(binary.LittleEndian.Uint16(b[8:])))
	flags := b[10]
	b = b[13:]
	if flags&0x80 != 0 {
		b = b[min(len(b), 3<<(flags&7+1)):]
	}
	for len(b) > 0 {
		switch b[0] {
		case '!': // an extension: its label, then blocks up to an empty one
			b = b[min(len(b), 2):]
			for len(b) > 0 && b[0] != 0 {
				b = b[min(len(b), 1+int(b[0])):]
			}
			b = b[min(len(b), 1):]
		case ',':
			if len(b) < 9 {
				return Size{}
			}
			at := func(i int) int64 { return int64(binary.LittleEndian.Uint16(b[i:])) }
			s.raise(at(1)+at(5), at(3)+at(7))
			return s
		default:
			return Size{}
		}
	}
	return Size{}
}

// readWebP reads the canvas and its first image (RFC 9649, section 2).
func readWebP(b []byte) (s Size) {
	for len(b) >= 18 {
		kind, n := string(b[:4]), int64(binary.LittleEndian.Uint32(b[4:]))
		body := b[8:]
		switch kind {
		case "VP8X":
			s.raise(1+little24(body[4:]), 1+little24(body[7:]))
		case "VP8 ":
			side := func(i int) int64 { return int64(binary.LittleEndian.Uint16(body[i:]) & 0x3fff) }
			s.raise(side(6), side(8))
			return s
		case "VP8L":
			bits := int64(binary.LittleEndian.Uint32(body[1:]))
			s.raise(1+bits&0x3fff, 1+bits>>14&0x3fff)
			return s
		case "ANMF": // lies within the canvas
			return s
		}
		b = body[min(int64(len(body)), n+n&1):]
	}
	return Size{}
}

func little24(b []byte) int64 { return int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 }
