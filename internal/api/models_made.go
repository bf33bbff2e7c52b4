package api

import (
	"weir/internal/dialect"
	"weir/internal/route"
)

// made is a listing in a shape, encoded once for everybody: with many providers it is half a
// megabyte, and tens of milliseconds of work.
type made struct {
	of     *route.Listing
	models []dialect.Model
	each   [][]byte // what the shape makes of each
	whole  []byte   // the list of all, where it does not depend on a query
}

// make is the listing in the shape.
func (s *modelShape) make(of *route.Listing) (*made, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != nil && s.made.of == of {
		return s.made, nil
	}
	m := &made{of: of, models: make([]dialect.Model, len(of.Models)), each: make([][]byte, len(of.Models))}
	var err error
	for i := range of.Models {
		m.models[i] = told(&of.Models[i])
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

// visible is the list of what the caller may use, nil for everything, as the request asks for it.
// Nobody changes it.
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

// only are the models that the caller may use, and what was made of them.
func (m *made) only(uses func(model string) bool) (models []dialect.Model, each [][]byte) {
	for i := range m.models {
		if uses(m.models[i].Name) {
			models, each = append(models, m.models[i]), append(each, m.each[i])
		}
	}
	return models, each
}
