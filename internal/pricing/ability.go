package pricing

// Ability is whether a model can do something. The zero value is that nobody
// knows; it is neither of the others.
type Ability uint8

// The states of an Ability.
const (
	Unknown Ability = iota
	Yes
	No
)

// String is "unknown", "yes" or "no".
func (a Ability) String() string {
	switch a {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// abilityOf is what somebody says, who may say nothing.
func abilityOf(said *bool) Ability {
	switch {
	case said == nil:
		return Unknown
	case *said:
		return Yes
	}
	return No
}

// or is the ability where it is known, else the other.
func (a Ability) or(b Ability) Ability {
	if a != Unknown {
		return a
	}
	return b
}

// and is what two have in common.
func (a Ability) and(b Ability) Ability {
	if a != b {
		return Unknown
	}
	return a
}

// Abilities are what a model takes and does, as its vendor says it of the
// model; a wire format may carry less.
type Abilities struct {
	Images     Ability // takes images
	Documents  Ability // takes PDF files
	Audio      Ability // takes sound
	Tools      Ability // calls tools
	Structured Ability // keeps to a JSON schema in its answer
	Reasoning  Ability // reasons before it answers
}

// NamedAbility is an ability with the name that data, configuration and
// listings have for it.
type NamedAbility struct {
	Name    string
	Ability Ability
}

// List is all abilities, always in the same order.
func (a *Abilities) List() []NamedAbility {
	var list []NamedAbility
	for _, name := range AbilityNames() {
		list = append(list, NamedAbility{name, *a.field(name)})
	}
	return list
}

// Least is what both have. What is unknown of one is unknown of both.
func (a *Abilities) Least(b *Abilities) Abilities {
	least := *a
	for _, name := range AbilityNames() {
		if has, other := least.field(name), *b.field(name); *has == Yes || *has == No && other == Unknown {
			*has = other
		}
	}
	return least
}

// AbilityNames are the names of the abilities, in the order of List.
func AbilityNames() []string {
	return []string{"images", "documents", "audio", "tools", "structured", "reasoning"}
}

// field is the ability of that name; nil for none.
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

// combine makes each ability what f makes of it and that of the other.
func (a *Abilities) combine(b *Abilities, f func(a, b Ability) Ability) {
	for _, name := range AbilityNames() {
		x := a.field(name)
		*x = f(*x, *b.field(name))
	}
}
