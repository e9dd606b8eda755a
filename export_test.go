package glasshouse

// Games is how many games the Host remembers.
func (h *Host[S, C, E, V]) Games() int { return len(h.all()) }
