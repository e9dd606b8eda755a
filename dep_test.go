package glasshouse
import (
 _ "pgregory.net/rapid"
 _ "github.com/google/go-cmp/cmp"
 _ "github.com/stretchr/testify/require"
)
