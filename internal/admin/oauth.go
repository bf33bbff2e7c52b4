package admin

import (
	"fmt"

	"weir/internal/account"
	"weir/internal/oauth"
)

// newOAuth returns the authorization server for programs that use tools.
func newOAuth(o *Options, keys *KeyRing, accounts *account.Service) (*oauth.Server, error) {
	s, err := oauth.New(oauth.Options{
		PublicURL: o.Config.PublicURL, Accounts: accounts, Store: o.Store.OAuth, Seal: keys.Sealed, Open: keys.Open,
		Proxy: o.Config.Outbound.Proxy.Reveal(), CAFile: o.Config.Outbound.CAFile, Through: o.OAuth, Now: o.Store.Now,
		Log: o.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	return s, nil
}
