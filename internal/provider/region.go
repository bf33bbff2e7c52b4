package provider

import (
	"net/url"
	"regexp"
	"strings"
)

// Region returns the region in the provider's address, if prices differ by region; empty otherwise.
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

// ServesIn returns the region in the host or path of the provider's address; empty if there is none.
func (p *Profile) ServesIn() string { return p.servesIn }

// location returns the location in a path such as /projects/p/locations/europe-west4; empty if there is none or it is
// global.
func location(path string) string {
	_, rest, _ := strings.Cut(path, "/locations/")
	if name, _, _ := strings.Cut(rest, "/"); name != "global" {
		return name
	}
	return ""
}

// Region returns Options.Region.
func (p *Profile) Region() string { return p.opts.Region() }
