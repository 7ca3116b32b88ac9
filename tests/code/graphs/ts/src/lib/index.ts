export const helper = () => low();
function low() { return 1; }
