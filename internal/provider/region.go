package provider

import (
	"net/url"
	"regexp"
	"strings"
)

// Region is the region that the provider's address names, where prices differ by region;
// empty for none.
func (o *Options) Region() string {
	u, err := url.Parse(o.BaseURL)
	if o.RegionHost == "" || err != nil {
		return ""
	}
	found := regexp.MustCompile(o.RegionHost).FindStringSubmatch(u.Hostname())
	if found == nil {
		return ""
	}
	return found[1]
}

// ServesIn is the region that the provider's address names, in its host or its path; empty for none.
func (p *Provider) ServesIn() string { return p.servesIn }

// location is the location that a path names, as in /projects/p/locations/europe-west4; empty for none, and for one that
// is everywhere.
func location(path string) string {
	_, rest, _ := strings.Cut(path, "/locations/")
	if name, _, _ := strings.Cut(rest, "/"); name != "global" {
		return name
	}
	return ""
}

// Region is that of Options.
func (p *Provider) Region() string { return p.opts.Region() }
