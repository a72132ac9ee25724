package tiny

import "math"

// The kernels sum each output in the order of its inputs, one after another, whatever the number of rows: a text gives
// the same bits taken in at once or byte by byte. Speed comes from four independent sums at a time.

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

// multiply1 shares each input between four outputs.
func multiply1(out, w, x []float32) {
	n := len(x)
	i := 0
	for ; i+4 <= len(out); i += 4 {
		w0, w1, w2, w3 := w[i*n:(i+1)*n], w[(i+1)*n:(i+2)*n], w[(i+2)*n:(i+3)*n], w[(i+3)*n:(i+4)*n]
		w0, w1, w2, w3 = w0[:len(x)], w1[:len(x)], w2[:len(x)], w3[:len(x)]
		var a, b, c, d float32
		for j, z := range x {
			a += z * w0[j]
			b += z * w1[j]
			c += z * w2[j]
			d += z * w3[j]
		}
		out[i], out[i+1], out[i+2], out[i+3] = a, b, c, d
	}
	for ; i < len(out); i++ {
		var a float32
		for j, z := range w[i*n : (i+1)*n] {
			a += z * x[j]
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
