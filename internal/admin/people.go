package admin

import (
	"fmt"
	"net"

	"weir/internal/config"
	"weir/internal/people"
	"weir/internal/signin"
)

// addPeople adds the directory of people and their sign-in.
func (a *Admin) addPeople(from *Options) (err error) {
	cfg, db := from.Config, from.Store
	d := people.Options{
		Stores: db.PeopleStores(), Now: db.Now, Log: from.Log, PublicURL: from.linksTo,
		PasswordsOff: cfg.Sessions.Passwords == "off", Demoted: a.Accounts.ForgetAdmins,
	}
	s := signin.Options{
		Stores: db.SignInStores(), Now: db.Now, Log: from.Log, PublicURL: from.linksTo, Idle: cfg.Sessions.Idle,
		Absolute: cfg.Sessions.Absolute, Demoted: a.Accounts.ForgetAdmins,
		Open: a.MasterKeys.Open, Seal: a.MasterKeys.Sealed,
	}
	if from.People != nil {
		from.People(&d, &s)
	}
	if m := cfg.SMTP; m.Addr != "" {
		d.Mail, err = people.NewMail(people.MailOptions{
			Addr: m.Addr, Username: m.Username, Password: m.Password,
			From: m.From, TLS: m.TLS, CAFile: cfg.Outbound.CAFile,
		})
		if err != nil {
			return err
		}
	}
	a.release = func() {}
	if cfg.OIDC.Issuer != "" {
		if s.OIDC, err = signin.NewOIDC(oidcOptions(cfg)); err != nil {
			return fmt.Errorf("oidc: %w", err)
		}
		a.release = s.OIDC.Close
	}
	a.Mail, a.People = d.Mail, people.New(d)
	s.Directory = a.People
	a.SignIn = signin.New(s)
	return nil
}

func oidcOptions(cfg *config.Config) signin.OIDCOptions {
	c := &cfg.OIDC
	o := signin.OIDCOptions{
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
