package picture_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"weir/internal/must"
	"weir/internal/picture"
	"weir/internal/worktest"
)

// encoded returns a grey image of that size in a format.
func encoded(t *testing.T, format string, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	m := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
	switch format {
	case "png":
		must.Do(t, png.Encode(&b, m))
	case "jpeg":
		must.Do(t, jpeg.Encode(&b, m, nil))
	case "gif":
		must.Do(t, gif.Encode(&b, m, nil))
	}
	return b.Bytes()
}

func webp(chunks string) string { return "RIFF\xff\x00\x00\x00WEBP" + chunks }

// TestReadSizes checks the sizes that are read, and the files that are not.
func TestReadSizes(t *testing.T) {
	t.Parallel()
	jpg := encoded(t, "jpeg", 640, 480)
	exif := append([]byte("\xff\xd8\xff\xe1\x00\x0bExif\x00\x00abc"), jpg[2:]...)
	second := bytes.Replace(jpg, []byte("\xff\xda"), []byte("\xff\xc2\x00\x0b\x08\x10\x00\x20\x00\x01\x01\x11\x00\xff\xda"), 1)
	const canvas = "VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\x03\x00\xff\x01\x00" // 1024 x 512
	for _, tt := range []struct {
		name  string
		bytes []byte
		want  picture.Size // zero for none
	}{
		{"png", encoded(t, "png", 1234, 56), picture.Size{Width: 1234, Height: 56}},
		{"jpeg", jpg, picture.Size{Width: 640, Height: 480}},
		{"jpeg behind a preview", exif, picture.Size{Width: 640, Height: 480}},
		{"jpeg with two frames", second, picture.Size{Width: 0x2000, Height: 0x1000}},
		{"gif", encoded(t, "gif", 300, 200), picture.Size{Width: 300, Height: 200}},
		{"gif with an image beyond its screen", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00!\xf9\x04\x00\x00\x00\x00\x00,\x02\x00\x03\x00\x40\x01\xf0\x00\x00"), picture.Size{Width: 0x142, Height: 0xf3}},
		{"webp, lossy", []byte(webp("VP8 \x10\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x80\x02\xe0\x01")), picture.Size{Width: 640, Height: 480}},
		{"webp, lossless", []byte(webp("VP8L\x10\x00\x00\x00\x2f\x7f\xc2\x77\x00aaaaa")), picture.Size{Width: 640, Height: 480}},
		{"webp, extended", []byte(webp(canvas + "ALPH\x02\x00\x00\x00abVP8 \x10\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x80\x02\xe0\x01")), picture.Size{Width: 1024, Height: 512}},
		{"webp, animated", []byte(webp(canvas + "ANMF\x10\x00\x00\x00abcdefghijklmnop")), picture.Size{Width: 1024, Height: 512}},
		{"no image", []byte("iVBORw0K"), picture.Size{}},
		{"png without a size", encoded(t, "png", 9, 9)[:20], picture.Size{}},
		{"jpeg without a frame", []byte("\xff\xd8\xff\xda\x00\x02"), picture.Size{}},
		{"jpeg that breaks off", exif[:9], picture.Size{}},
		{"bytes between markers", append([]byte("\xff\xd8a"), jpg[2:]...), picture.Size{}},
		{"gif without an image", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), picture.Size{}},
		{"webp without an image", []byte(webp(canvas)), picture.Size{}},
		{"nothing", nil, picture.Size{}},
	} {
		got, ok := picture.Read(tt.bytes)
		if !ok {
			got = picture.Size{}
		}
		if got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// FuzzRead checks that any bytes need linear time and memory.
func FuzzRead(f *testing.F) {
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00!\xf9\x04"))
	f.Add([]byte("\xff\xd8\xff\xe0\x00\x02\xff\xff\xda"))
	f.Add([]byte(webp("VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\x03\x00\xff\x01\x00")))
	f.Fuzz(func(t *testing.T, b []byte) {
		worktest.Check(t, b, func(b []byte) { picture.Read(b) })
	})
}
