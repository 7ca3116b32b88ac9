export default function somewhere() { return 1; }
