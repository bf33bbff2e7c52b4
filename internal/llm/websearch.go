package llm

// WebSearch is the wish that the provider searches the web for an answer.
type WebSearch struct {
	At               string   // the client's field that has the wish, such as "tools[0]"
	Fields           []string // the client's extra fields that say the wish, or a part of it
	Lost             []string // parts of these that nobody else has, and that are left out
	MaxUses          int64    // searches at most; 0 for no bound
	Allowed, Blocked []string // domains to search alone, and domains to leave out
	// Country, Region, City and Timezone say roughly where the user is; empty for unset.
	Country, Region, City, Timezone string
	Context                         string // how much of what is found the model reads: low, medium, high; empty for unset
}

// HasPlace reports whether the wish says where the user is.
func (s *WebSearch) HasPlace() bool { return s.Country+s.Region+s.City+s.Timezone != "" }
