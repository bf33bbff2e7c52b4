package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/people"
	"weir/internal/route"
	"weir/internal/upstream"
)

// announce prints the listening address and, at the very first start, the first steps.
func (g *instance) announce(ctx context.Context, addr net.Addr) error {
	for _, w := range g.options.Config.Warnings {
		g.options.Log.Warn("configuration", "warning", w)
	}
	base := admin.BaseURL(&g.options.Config, addr.String())
	g.base.Store(&base)
	acc, first, err := g.admin.Accounts.Bootstrap(ctx, audit.Gateway()) // before the address is announced
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(g.options.Stderr, "listening on %s\n", base); err != nil {
		return err
	}
	if cfg := &g.options.Config; !isLoopback(addr) && !cfg.TLS.On() && len(cfg.TrustedProxies) == 0 {
		g.options.Log.Warn("other machines can reach this address over plain http, and others can read keys and "+
			"passwords: set tls or, behind a proxy with https, trusted_proxies and public_url", "address",
			addr.String())
	}
	g.manager.Ready("Listening on " + base)
	if g.options.Ready != nil {
		g.options.Ready(addr.String())
	}
	if !first {
		return tellHowToBegin(ctx, g.admin.People, g.options.Log)
	}
	w := welcome{options: g.options, accounts: g.admin.Accounts, table: g.router.Table()}
	return w.print(ctx, acc, base, isLoopback(addr))
}

// tellHowToBegin logs how to create the first operator if there is no user yet. This happens if accounts were created
// before the first start, or if the set-up link was not used.
func tellHowToBegin(ctx context.Context, p *people.Directory, log *slog.Logger) error {
	users, err := p.Users(ctx)
	if err == nil && len(users) == 0 {
		log.Info("nobody can sign in to the dashboard yet: use the set-up link that the first start printed, or " +
			"weir operators add EMAIL, which prints another link; weir keys create --account NAME --label LABEL " +
			"prints an API key")
	}
	return err
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// welcome prints the first steps at the very first start.
type welcome struct {
	options  *Options
	accounts *account.Service
	table    *route.Table
}

// isKept reports whether a service manager stores the output, for others to read: in systemd's journal, if it is not
// a terminal (systemd.exec(5), $JOURNAL_STREAM; programs that a service starts inherit the variable, also the
// terminals of a desktop).
func (w *welcome) isKept() bool {
	if w.options.Getenv("JOURNAL_STREAM") == "" {
		return false
	}
	f, ok := w.options.Stdout.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice == 0
}

// keyCommand returns the command that creates a key of the account, from any directory.
func (w *welcome) keyCommand(name string) string {
	command := "weir keys create --account " + name + " --label first"
	cfg := &w.options.Config
	for _, flag := range [][2]string{{"--config", cfg.File}, {"--data", cfg.Data}} {
		if path, err := filepath.Abs(flag[1]); err == nil && flag[1] != "" {
			command += " " + flag[0] + " '" + strings.ReplaceAll(path, "'", `'\''`) + "'"
		}
	}
	return command
}

// print prints the set-up link. If only the user can read it, it also prints a first key with a command that uses
// it, else the command that creates one.
func (w *welcome) print(ctx context.Context, acc account.Account, base string, loopback bool) error {
	setup, err := w.accounts.CreateSetupToken(ctx, audit.Gateway())
	if err != nil {
		return err
	}
	text := fmt.Sprintf("\nWelcome to Weir.\n\nSet up the dashboard, once:\n  %s/setup/%s\n", base, setup.Reveal())
	if !loopback || w.isKept() {
		text += fmt.Sprintf(keyStep, w.keyCommand(acc.Name))
	} else {
		_, token, err := w.accounts.CreateKey(ctx, audit.Gateway(), account.KeyOptions{
			Account: acc.ID,
			Label:   "first key",
		})
		if err != nil {
			return err
		}
		model, note := w.firstModel()
		text += fmt.Sprintf(firstSteps, token.Reveal(), note, base, token.Reveal(), model, base, token.Reveal())
	}
	text += fmt.Sprintf(readOn, base)
	if w.table.DefaultModel() == upstream.DemoName+"/"+upstream.DemoModel {
		text += demoNotice
	}
	_, err = fmt.Fprintln(w.options.Stdout, text)
	return err
}

// firstModel returns the JSON member that names a model in a first request, and a note if no model is known. Both are
// empty if there is a default model.
func (w *welcome) firstModel() (member, note string) {
	if w.table.DefaultModel() != "" {
		return "", ""
	}
	name, known := w.table.ExampleModel(w.options.Now())
	if !known {
		note = "\n(no default_model is configured: replace <model-name> by a model of the provider)"
	}
	return fmt.Sprintf(`"model":%q,`, name), note
}

const firstSteps = `
Your first API key, shown this once:
  %s

Say hello:%s
  curl %s/v1/chat -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' ` +
	`-d '{%s"messages":[{"role":"user","prompt":"Hello!"}]}'

See what it cost:
  curl %s/v1/uses -H 'Authorization: Bearer %s'
`

const keyStep = `
No API key is shown, since others may read this. Make one, as the user and in the
environment of the gateway:
  %s
`

const readOn = `
Read the documentation:
  %s/docs
`

const demoNotice = `
No provider is configured, so a demo answers: it is a simulator, not a model,
and its prices are as made up as its words.
Set a key such as OPENAI_API_KEY, or write a weir.yaml, and start again.
`
