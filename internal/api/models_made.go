package api

import (
	"weir/internal/dialect"
	"weir/internal/route"
)

// made is a listing in a shape, encoded once for all callers: with many providers it has half a megabyte and takes
// tens of milliseconds.
type made struct {
	of     *route.Listing
	models []dialect.Model
	each   [][]byte // the encoded models
	whole  []byte   // the list of all, if it does not depend on a query
}

// make returns the listing in the shape.
func (s *modelShape) make(of *route.Listing) (*made, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != nil && s.made.of == of {
		return s.made, nil
	}
	m := &made{of: of, models: make([]dialect.Model, len(of.Models)), each: make([][]byte, len(of.Models))}
	var err error
	for i := range of.Models {
		m.models[i] = describe(&of.Models[i])
		if m.each[i], err = s.one(&of.Models[i]); err != nil {
			return nil, err
		}
	}
	if !s.byQuery {
		m.whole, err = s.list(nil, m.models, m.each)
	}
	s.made = m
	return m, err
}

// visible returns the list of the models that the caller may use, for the parameters of the request; a nil uses means
// all. The result must not be changed.
func (s *modelShape) visible(r *request, m *made, uses func(model string) bool) ([]byte, error) {
	switch {
	case uses != nil:
		models, each := m.only(uses)
		return s.list(r, models, each)
	case m.whole != nil:
		return m.whole, nil
	}
	return s.list(r, m.models, m.each)
}

// only returns the models that the caller may use, and their encodings.
func (m *made) only(uses func(model string) bool) (models []dialect.Model, each [][]byte) {
	for i := range m.models {
		if uses(m.models[i].Name) {
			models, each = append(models, m.models[i]), append(each, m.each[i])
		}
	}
	return models, each
}
