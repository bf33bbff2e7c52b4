package llm

// WebSearch is a request for a web search by the provider.
type WebSearch struct {
	At               string   // the client's field with the request, such as "tools[0]"
	Fields           []string // the client's extra fields that express all or a part of it
	Lost             []string // settings that no other vendor has and that are omitted
	MaxUses          int64    // the most searches; 0 for no bound
	Allowed, Blocked []string // the only domains to search, and domains to exclude
	// Country, Region, City and Timezone are the approximate location of the user; empty for unset.
	Country, Region, City, Timezone string
	Context                         string // how much of the results the model reads: low, medium or high; or empty
}

// HasPlace reports whether the user's location is set.
func (s *WebSearch) HasPlace() bool { return s.Country+s.Region+s.City+s.Timezone != "" }
