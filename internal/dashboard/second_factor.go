package dashboard

import (
	"errors"
	"fmt"
	"image/color"
	"net/http"
	"strings"

	"github.com/boombuler/barcode/qr"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/signin"
)

// codePage asks for the second factor of a person who signs in.
type codePage struct {
	Next     string
	Code     Field
	Passkey  challengePart
	Problems []Problem
}

// showCode shows the form for the second factor.
func (h *signInHandlers) showCode(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	p := codePage{Next: signin.LocalPath(r.FormValue("next"))}
	p.Code = f.field(Field{
		Name: "code", Label: "Code", Complete: "one-time-code", Required: true, First: true, Max: 64,
		Hint: "From your authenticator app, or a recovery code.",
	})
	p.Code.Value = ""
	p.Problems = f.problems()
	ask, err := h.signIn.Passkeys.Ask(r.Context(), h.site.cookies.session(r), h.publicURL(r))
	if err != nil {
		return err
	}
	var scripts []string
	if ask != nil {
		p.Passkey, scripts = challengePart(*ask), []string{"passkey.js"}
	}
	retryAfter(w, f.wait)
	return h.site.show(w, r, v, page{
		name: "code", title: "Sign in", bare: true, status: f.status(), scripts: scripts, data: p,
	})
}

func (h *signInHandlers) giveCode(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	session, err := h.signIn.Factors.Give(r.Context(), h.site.cookies.session(r), r.PostFormValue("code"), v.Origin)
	return h.passed(w, r, v, session, err)
}

// passed starts the session after a valid second factor, or asks for it again.
func (h *signInHandlers) passed(w http.ResponseWriter, r *http.Request, v *people.Visit, session llm.Secret,
	err error,
) error {
	f := sent(r)
	if e := llm.AsError(err); err != nil && e.Code == llm.CodeAuthentication {
		return f.refused(w, r, v, err, h.show)
	}
	if err != nil {
		return f.refused(w, r, v, err, h.showCode)
	}
	h.site.cookies.startSession(w, session)
	return goTo(w, r, signin.LocalPath(r.PostFormValue("next")))
}

// factorPage sets up a second factor, or shows its recovery codes.
type factorPage struct {
	Email, Secret  string
	Picture        qrCode // of the address for the app
	Code, Password Field
	Recovery       []string // after it is set up
	Problems       []Problem
}

func (h *profileHandlers) showFactor(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	secret, address := h.signIn.Factors.New(v.Visitor)
	if given := factorSecret(r); !given.IsZero() {
		secret, address = given, h.signIn.Factors.Address(v.Visitor, given)
	}
	picture, err := qrCodeOf(address)
	if err != nil {
		return err
	}
	p := factorPage{Email: v.User().Email, Secret: secret.Reveal(), Picture: picture}
	p.Code = f.field(Field{
		Name: "code", Label: "Code that the app shows", Complete: "one-time-code", Required: true, Max: 6,
	})
	p.Password = f.field(currentPassword("password"))
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{name: "factor", title: "Second factor", status: f.status(), data: p})
}

// factorSecret returns the secret of a refused form.
func factorSecret(r *http.Request) llm.Secret { return secret(r, "secret") }

// qrCode is a QR code: Modules is a path of its dark squares, each of size 1.
type qrCode struct {
	Size    int
	Modules string
}

// Margined returns the size with the margin of four squares that scanners need (ISO/IEC 18004).
func (c qrCode) Margined() int { return c.Size + 8 }

func qrCodeOf(text string) (qrCode, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return qrCode{}, fmt.Errorf("draw QR code: %w", err)
	}
	var path strings.Builder
	size := code.Bounds().Dx()
	for y := range size {
		for x := range size {
			if code.At(x, y) == color.Black {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	return qrCode{size, path.String()}, nil
}

func (h *profileHandlers) setFactor(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	codes, err := h.signIn.Factors.Set(r.Context(), v.Visitor, factorSecret(r), r.PostFormValue("code"),
		secret(r, "password"), v.Origin)
	if err != nil {
		return sent(r).refused(w, r, v, err, h.showFactor)
	}
	p := factorPage{Email: v.User().Email, Recovery: codes}
	return h.site.show(w, r, v, page{name: "factor", title: "Second factor", data: p})
}

func (h *profileHandlers) removeFactor(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.signIn.Factors.Remove(r.Context(), v.Visitor, secret(r, "confirm"), v.Origin)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Param == "password" {
		err = e.At("confirm") // the page also has another field for a password
	}
	return sent(r).followed(w, r, v, "/me?done=factor-removed", err, h.show)
}

// currentPassword returns the field for the current password.
func currentPassword(name string) Field {
	return Field{
		Name: name, Label: "Current password", Kind: "password", Complete: "current-password", Required: true,
		Max: 256,
	}
}
