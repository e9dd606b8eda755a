package battle

import "slices"

const (
	digitBits = 6
	maxDigits = 5 // of values that differ by no more than 2^30 cents; beyond, comparing is faster
)

// sortWords sorts by the bits from shift up, stably, that is by the whole words where the bits below ascend already.
// It sorts by digits because the values of a battle come in no order that a processor could guess: sorting by
// comparisons takes three times as long on battles that are not all the same. Only digits in which the words differ
// are looked at. spare is as long as words.
func sortWords(words, spare []uint64, shift int) {
	some, all := uint64(0), ^uint64(0)
	for _, w := range words {
		some |= w
		all &= w
	}
	differ := (some &^ all) >> shift
	if differ>>(digitBits*maxDigits) != 0 {
		slices.Sort(words)
		return
	}
	from, to := words, spare[:len(words)]
	for ; differ != 0; differ >>= digitBits {
		sortDigit(to, from, shift)
		from, to = to, from
		shift += digitBits
	}
	copy(words, from) // nothing to do after an even number of digits
}

// sortDigit writes from to to in the order of the digit at shift.
func sortDigit(to, from []uint64, shift int) {
	var next [1 << digitBits]uint16
	for _, w := range from {
		next[w>>shift%(1<<digitBits)]++
	}
	start := uint16(0)
	for d, n := range next {
		next[d] = start
		start += n
	}
	for _, w := range from {
		p := &next[w>>shift%(1<<digitBits)]
		to[*p] = w
		*p++
	}
}
