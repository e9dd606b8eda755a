package battle

import (
	"fmt"
	"strings"
)

// Layout is the shape of a battle: how many teams of how many players. Its text is one size a team, "2v2v2". A seat's
// index is (team−1)·Size + slot; wherever this package says "order" it means the order of the seats.
type Layout struct {
	Teams int // 2..8
	Size  int // players a team, 1..4
}

// The limits of a Layout.
const (
	MaxTeams    = 8
	MaxTeamSize = 4
)

// sourceLayouts are the names that the source gives to six of the shapes.
var sourceLayouts = []struct {
	name   string
	layout Layout
}{
	{"ONE_VS_ONE", Layout{2, 1}},
	{"TWO_VS_TWO", Layout{2, 2}},
	{"THREE_VS_THREE", Layout{2, 3}},
	{"FOUR_VS_FOUR", Layout{2, 4}},
	{"ONE_VS_ONE_VS_ONE", Layout{3, 1}},
	{"ONE_VS_ONE_VS_ONE_VS_ONE", Layout{4, 1}},
}

// ParseLayout reads "2v2v2" or one of the source's six names ("ONE_VS_ONE" …). Anything else is an error.
func ParseLayout(text string) (Layout, error) {
	for _, s := range sourceLayouts {
		if s.name == text {
			return s.layout, nil
		}
	}
	parts := strings.Split(text, "v")
	for _, p := range parts {
		if p != parts[0] || len(p) != 1 {
			return Layout{}, fmt.Errorf("unknown layout %.40q", text)
		}
	}
	l := Layout{Teams: len(parts), Size: int(parts[0][0]) - '0'}
	if err := l.check(); err != nil {
		return Layout{}, fmt.Errorf("unknown layout %.40q", text)
	}
	return l, nil
}

func (l Layout) check() error {
	if l.Teams < 2 || l.Teams > MaxTeams || l.Size < 1 || l.Size > MaxTeamSize {
		return fmt.Errorf("%d teams of %d, want 2 to %d teams of 1 to %d", l.Teams, l.Size, MaxTeams, MaxTeamSize)
	}
	return nil
}

// Seats is how many players a battle of this shape has.
func (l Layout) Seats() int { return l.Teams * l.Size }

// Seat is the index of a slot (from 0) of a team (from 1).
func (l Layout) Seat(team, slot int) int { return (team-1)*l.Size + slot }

// Team is the team (from 1) of a seat.
func (l Layout) Team(seat int) int { return seat/l.Size + 1 }

// String is the text form; of an impossible Layout it is "invalid".
func (l Layout) String() string {
	if l.check() != nil {
		return "invalid"
	}
	one := string(rune('0' + l.Size))
	return strings.Repeat(one+"v", l.Teams-1) + one
}

// SourceName is the source's name of this shape, or the text form where the source has none.
func (l Layout) SourceName() string {
	for _, s := range sourceLayouts {
		if s.layout == l {
			return s.name
		}
	}
	return l.String()
}

// MarshalText writes the text form.
func (l Layout) MarshalText() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return []byte(l.String()), nil
}

// UnmarshalText reads what ParseLayout does.
func (l *Layout) UnmarshalText(b []byte) (err error) {
	*l, err = ParseLayout(string(b))
	return err
}
