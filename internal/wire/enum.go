package wire

import "fmt"

// EnumText is the MarshalText of an enum whose values are indexes into names; names[0] belongs to the zero value,
// which is no value at all.
func EnumText[T ~uint8](names []string, v T) ([]byte, error) {
	if v == 0 || int(v) >= len(names) {
		return nil, fmt.Errorf("no value of this kind: %d", uint8(v))
	}
	return []byte(names[v]), nil
}

// EnumString is the String of such an enum.
func EnumString[T ~uint8](names []string, v T) string {
	if v == 0 || int(v) >= len(names) {
		return fmt.Sprintf("invalid(%d)", uint8(v))
	}
	return names[v]
}

// ParseEnum is the UnmarshalText of such an enum.
func ParseEnum[T ~uint8](names []string, text []byte, v *T) error {
	for i, name := range names {
		if i > 0 && name == string(text) {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("unknown value %q", clip(string(text)))
}
