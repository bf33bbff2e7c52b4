package pricing

// Ability says whether a model has an ability. The zero value means unknown, which is neither yes nor no.
type Ability uint8

// These are the values of an Ability.
const (
	Unknown Ability = iota
	Yes
	No
)

// String returns "unknown", "yes" or "no".
func (a Ability) String() string {
	switch a {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// abilityOf converts an optional statement; nil means unknown.
func abilityOf(said *bool) Ability {
	switch {
	case said == nil:
		return Unknown
	case *said:
		return Yes
	}
	return No
}

// or returns a if it is known, else b.
func (a Ability) or(b Ability) Ability {
	if a != Unknown {
		return a
	}
	return b
}

// and returns a if both are equal, else Unknown.
func (a Ability) and(b Ability) Ability {
	if a != b {
		return Unknown
	}
	return a
}

// Abilities holds the inputs that a model accepts and its features, as the vendor states them for the model. A wire
// format may support fewer.
type Abilities struct {
	Images     Ability // accepts images
	Documents  Ability // accepts PDF files
	Audio      Ability // accepts audio
	Tools      Ability // calls tools
	Structured Ability // follows a JSON schema in its answer
	Reasoning  Ability // reasons before it answers
}

// NamedAbility is an ability with its name in data, configuration and listings.
type NamedAbility struct {
	Name    string
	Ability Ability
}

// List returns all abilities, always in the same order.
func (a *Abilities) List() []NamedAbility {
	var list []NamedAbility
	for _, name := range AbilityNames() {
		list = append(list, NamedAbility{name, *a.field(name)})
	}
	return list
}

// Least returns the abilities that both have. An ability is unknown if it is unknown in one and not absent in the
// other.
func (a *Abilities) Least(b *Abilities) Abilities {
	least := *a
	for _, name := range AbilityNames() {
		if has, other := least.field(name), *b.field(name); *has == Yes || *has == No && other == Unknown {
			*has = other
		}
	}
	return least
}

// AbilityNames returns the names of the abilities, in the order of List.
func AbilityNames() []string {
	return []string{"images", "documents", "audio", "tools", "structured", "reasoning"}
}

// field returns the ability with that name; nil for an unknown name.
func (a *Abilities) field(name string) *Ability {
	switch name {
	case "images":
		return &a.Images
	case "documents":
		return &a.Documents
	case "audio":
		return &a.Audio
	case "tools":
		return &a.Tools
	case "structured":
		return &a.Structured
	case "reasoning":
		return &a.Reasoning
	}
	return nil
}

// combine replaces each ability a by f(a, b), where b is the other's.
func (a *Abilities) combine(b *Abilities, f func(a, b Ability) Ability) {
	for _, name := range AbilityNames() {
		x := a.field(name)
		*x = f(*x, *b.field(name))
	}
}
