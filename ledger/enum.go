package ledger

// The enums of this package have names in text and no valid zero value.

func enumName(names []string, n int) string {
	if n < 1 || n >= len(names) {
		return "none"
	}
	return names[n]
}

func enumText(names []string, n int, field string) ([]byte, error) {
	if n < 1 || n >= len(names) {
		return nil, ErrInvalid{field, "has no value"}
	}
	return []byte(names[n]), nil
}

func enumValue(names []string, text []byte, field string) (int, error) {
	for n := 1; n < len(names); n++ {
		if string(text) == names[n] {
			return n, nil
		}
	}
	return 0, ErrInvalid{field, "unknown"}
}
