package tiny

import "math"

// The kernels sum each output in the order of its inputs, one after another, whatever the number of rows: a text gives
// the same bits taken in at once or byte by byte. Speed comes from several independent sums at a time.

// multiply computes out[r] = w · x[r] for each row: x has rows of in numbers, w has outs rows of in numbers.
func multiply(out, w, x []float32, in, outs, rows int) {
	r := 0
	for ; r+4 <= rows; r += 4 {
		multiply4(out[r*outs:(r+4)*outs], w, x[r*in:(r+4)*in], in, outs)
	}
	for ; r < rows; r++ {
		multiply1(out[r*outs:(r+1)*outs], w, x[r*in:(r+1)*in])
	}
}

// multiply4 shares each weight between four rows.
func multiply4(out, w, x []float32, in, outs int) {
	x0, x1, x2, x3 := x[:in], x[in:2*in], x[2*in:3*in], x[3*in:4*in]
	for i := range outs {
		row := w[i*in : (i+1)*in]
		x0, x1, x2, x3 := x0[:len(row)], x1[:len(row)], x2[:len(row)], x3[:len(row)]
		var a, b, c, d float32
		for j, z := range row {
			a += z * x0[j]
			b += z * x1[j]
			c += z * x2[j]
			d += z * x3[j]
		}
		out[i], out[outs+i], out[2*outs+i], out[3*outs+i] = a, b, c, d
	}
}

// multiply1 shares each input between eight outputs: enough independent sums to hide how long one addition takes.
func multiply1(out, w, x []float32) {
	n := len(x)
	i := 0
	for ; i+8 <= len(out); i += 8 {
		v := w[i*n : (i+8)*n]
		v0, v1, v2, v3 := v[:n], v[n:][:n], v[2*n:][:n], v[3*n:][:n]
		v4, v5, v6, v7 := v[4*n:][:n], v[5*n:][:n], v[6*n:][:n], v[7*n:][:n]
		var a, b, c, d, e, f, g, h float32
		for j, z := range x {
			a += z * v0[j]
			b += z * v1[j]
			c += z * v2[j]
			d += z * v3[j]
			e += z * v4[j]
			f += z * v5[j]
			g += z * v6[j]
			h += z * v7[j]
		}
		o := out[i : i+8 : i+8]
		o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7] = a, b, c, d, e, f, g, h
	}
	for ; i < len(out); i++ {
		var a float32
		row := w[i*n : (i+1)*n]
		for j, z := range x {
			a += z * row[j]
		}
		out[i] = a
	}
}

// dot multiplies a with the beginning of b.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s, t, u, v float32
	j := 0
	for ; j+4 <= len(a); j += 4 {
		s += a[j] * b[j]
		t += a[j+1] * b[j+1]
		u += a[j+2] * b[j+2]
		v += a[j+3] * b[j+3]
	}
	for ; j < len(a); j++ {
		s += a[j] * b[j]
	}
	return s + t + u + v
}

// axpy adds f times the beginning of x to y.
func axpy(y []float32, f float32, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += f * x[i]
	}
}

func add(y, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += x[i]
	}
}

// normalise divides x by its root mean square and scales it by w.
func normalise(out, x, w []float32) {
	var sum float32
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / float32(math.Sqrt(float64(sum/float32(len(x))+1e-5)))
	for i, v := range x {
		out[i] = v * scale * w[i]
	}
}
