package admin

import (
	"fmt"
	"net"

	"weir/internal/config"
	"weir/internal/people"
)

// newPeople creates the sign-in service. Closer releases its resources.
func newPeople(from *Options, keys *KeyRing, demoted func()) (s *people.Service, closer func(), err error) {
	cfg, db := from.Config, from.Store
	o := people.Options{
		Stores: db.PeopleStores(), Now: db.Now, Log: from.Log, PublicURL: from.linksTo,
		Idle: cfg.Sessions.Idle, Absolute: cfg.Sessions.Absolute, PasswordsOff: cfg.Sessions.Passwords == "off",
		Demoted: demoted, Open: keys.Open, Seal: keys.sealed,
	}
	if from.People != nil {
		from.People(&o)
	}
	if m := cfg.SMTP; m.Addr != "" {
		o.Mail, err = people.NewMail(people.MailOptions{
			Addr: m.Addr, Username: m.Username, Password: m.Password,
			From: m.From, TLS: m.TLS, CAFile: cfg.Outbound.CAFile,
		})
		if err != nil {
			return nil, nil, err
		}
	}
	if cfg.OIDC.Issuer == "" {
		return people.New(o), func() {}, nil
	}
	if o.OIDC, err = people.NewOIDC(oidcOptions(cfg)); err != nil {
		return nil, nil, fmt.Errorf("oidc: %w", err)
	}
	return people.New(o), o.OIDC.Close, nil
}

func oidcOptions(cfg *config.Config) people.OIDCOptions {
	c := &cfg.OIDC
	o := people.OIDCOptions{
		Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: c.ClientSecret, Name: c.Name, Scopes: c.Scopes,
		GroupsClaim: c.GroupsClaim, Operators: c.Operators, Accounts: map[string]map[people.Role][]string{},
		SignUp: c.SignUp, Proxy: cfg.Outbound.Proxy.Reveal(), CAFile: cfg.Outbound.CAFile,
	}
	for name, g := range c.Accounts {
		o.Accounts[name] = map[people.Role][]string{
			people.Owner: g.Owner, people.Member: g.Member, people.Viewer: g.Viewer,
		}
	}
	return o
}

// BaseURL returns the address of a gateway on this machine that listens on host:port.
func BaseURL(cfg *config.Config, listen string) string {
	scheme := "http"
	if cfg.TLS.On() {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return scheme + "://" + net.JoinHostPort("localhost", port)
	}
	return scheme + "://" + listen
}
