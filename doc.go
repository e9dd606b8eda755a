// Package glasshouse is the shape that the five game engines share.
package glasshouse
